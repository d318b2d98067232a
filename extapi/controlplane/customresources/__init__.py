"""Custom resources: the kinds that CustomResourceDefinitions declare, served by the control plane itself.

The controllers know only the API, through the server's own client, and one function that serves other kinds.
Source: ``apiextensions-apiserver/pkg/controller``.
"""
