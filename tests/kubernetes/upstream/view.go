package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// view puts a root directory together that holds all of this machine's, and the mounts at their paths: so a program gets
// the very arguments of the spec, and finds its service account where a pod does.
//
// It exists in a mount namespace of this thread and of the processes that it starts, and nowhere else.
func (c *container) view() (string, error) {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return "", fmt.Errorf("mount namespace: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("mount namespace: %w", err)
	}
	root := filepath.Join(c.home, c.name)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		return "", fmt.Errorf("mount %s: %w", root, err)
	}
	mounts := map[string]string{}
	for path, source := range c.mounts {
		mounts[resolve(path)] = source
	}
	if err := mirror("/", root, mounts); err != nil {
		return "", err
	}
	for path, source := range mounts {
		target := filepath.Join(root, path)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return "", err
		}
		if err := bind(source, target); err != nil {
			return "", err
		}
	}
	return root, nil
}

// mirror fills target with what is in directory: links as they are, and the rest by bind mounts, of whole directories
// where no mount lies below them. Those above a mount are new ones, so that nothing is made in the machine's own.
func mirror(directory, target string, mounts map[string]string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err := appear(entry, filepath.Join(directory, entry.Name()), filepath.Join(target, entry.Name()), mounts)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // something in /run that has just gone
			return err
		}
	}
	return nil
}

// appear makes one entry of a directory, from, be there as to.
func appear(entry os.DirEntry, from, to string, mounts map[string]string) error {
	switch {
	case entry.Type() == os.ModeSymlink:
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(link, to)
	case entry.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		if above(from, mounts) {
			return mirror(from, to, mounts)
		}
		return bind(from, to)
	default:
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			return err
		}
		return bind(from, to)
	}
}

func bind(source, target string) error {
	if err := syscall.Mount(source, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	return nil
}

// above says whether one of the mounts lies below directory, or is it.
func above(directory string, mounts map[string]string) bool {
	for path := range mounts {
		if path == directory || strings.HasPrefix(path, directory+"/") {
			return true
		}
	}
	return false
}

// resolve returns path without links (/var/run is one to /run), as far as it exists.
func resolve(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil || path == "/" {
		return resolved
	}
	return filepath.Join(resolve(filepath.Dir(path)), filepath.Base(path))
}
