package main

import (
	"sort"

	"github.com/google/cel-go/cel"
)

type overloadAnswer struct {
	Function  string   `json:"function"`
	ID        string   `json:"id"`
	Member    bool     `json:"member"`
	Arguments []string `json:"arguments"`
	Result    string   `json:"result"`
}

type environmentAnswer struct {
	Overloads []overloadAnswer `json:"overloads"`
	// Each with its number of arguments, and whether it is called on one.
	Macros []string `json:"macros"`
}

// declared is what the environment of rules declares.
func declared(asked *request) (out environmentAnswer, err error) {
	within, err := environments().Env(mode(asked.Stored))
	if err != nil {
		return
	}
	for name, function := range within.Functions() {
		for _, each := range function.OverloadDecls() {
			found := overloadAnswer{Function: name, ID: each.ID(), Member: each.IsMemberFunction(), Arguments: []string{}}
			for _, argument := range each.ArgTypes() {
				found.Arguments = append(found.Arguments, cel.FormatCELType(argument))
			}
			found.Result = cel.FormatCELType(each.ResultType())
			out.Overloads = append(out.Overloads, found)
		}
	}
	sort.Slice(out.Overloads, func(i, j int) bool { return out.Overloads[i].ID < out.Overloads[j].ID })
	for _, each := range within.Macros() {
		out.Macros = append(out.Macros, each.MacroKey())
	}
	sort.Strings(out.Macros)
	return
}
