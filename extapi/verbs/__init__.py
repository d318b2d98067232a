"""The verbs, one file per verb, with the checks in the order in which kube-apiserver reports them (behaviour E, F)."""
