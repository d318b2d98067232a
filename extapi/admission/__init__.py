"""Admission: what may change or refuse a write after it is authorized and decoded (behaviour I)."""
