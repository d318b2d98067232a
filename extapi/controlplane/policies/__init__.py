"""Admission policies as objects of the control plane: rules of writing, who may write them, and type checking.

Their types are in :mod:`extapi.controlplane.kinds.admissionpolicies`; :mod:`extapi.admission.policies` keeps them.
"""
