package main

import "github.com/google/uuid"

// newRequestID names a request that came from nobody's door.
func newRequestID() string { return uuid.Must(uuid.NewV7()).String() }
