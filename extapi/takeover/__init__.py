"""Moves the objects of a live CustomResourceDefinition to an extension server, and back; and migrates stored versions.

``extapi import`` copies, follows and switches, ``extapi export`` goes the way back, ``extapi migrate`` rewrites objects
through a running server. All three call kube-apiserver as the operator; only import and export open a store.
"""
