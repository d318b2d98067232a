"""OpenAPI documents: what versions 2 and 3 share (model, operations, kinds), each of them, and 2 in protobuf."""
