"""Who manages which fields of an object: field sets, server-side apply, and the entries of ``metadata.managedFields``.

Pure: functions on objects, types and sets of fields. Whoever calls them passes in the time, and what converts objects.
Source: ``sigs.k8s.io/structured-merge-diff`` and ``k8s.io/apimachinery/pkg/util/managedfields``.
"""
