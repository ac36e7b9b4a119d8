package core

import "time"

// Model is an embedding model on record.
type Model struct {
	ID         int64  `json:"id"`
	Provider   string `json:"provider"`
	Name       string `json:"name"`
	Dimensions int    `json:"dimensions"`
	Active     bool   `json:"active"`
	// Weight is the share of meaning against words in a score, between 0 and 1; 0
	// where none was found for this model, and the usual one holds.
	Weight    float64   `json:"weight,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// IndexStatus is how far indexing has come.
type IndexStatus struct {
	Model string `json:"model"`
	// Chosen is the model that search is to use. After a choice, indexing takes it up
	// in a moment.
	Chosen     string     `json:"chosen"`
	State      string     `json:"state"` // idle or running
	Total      int        `json:"total"`
	Indexed    int        `json:"indexed"`
	Failed     int        `json:"failed"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	Error      string     `json:"error,omitempty"`
}
