package core

import "encoding/json"

// Tool is one tool of a server, as it is in force.
type Tool struct {
	ID       string
	ServerID string
	// Name is what we expose: the server's prefix and the original name.
	Name string
	// OriginName is what the server itself calls the tool, and all that is ever
	// sent to it.
	OriginName  string
	Title       string
	Description string
	Domain      string // its own domain or else its server's
	// InputSchema, OutputSchema and Annotations are the server's own bytes; the
	// last two may be nil.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Annotations  json.RawMessage
	// Definition is the whole tool as the server sent it.
	Definition json.RawMessage
	// SchemaHash is the SHA-256, in hex, of name, description and schemas.
	SchemaHash string
	// Signature is one line that a model can call from.
	Signature string
	// Warnings tell what is odd about the definition.
	Warnings []string
}

// Domain is a category of tools.
type Domain struct {
	ID          string `json:"id"` // a slug
	Name        string `json:"name"`
	Description string `json:"description"`
	ToolCount   int    `json:"toolCount"`
}
