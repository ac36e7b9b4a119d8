// Package embeddings turns texts and tools into vectors: with the model in the
// binary (package builtin), or with a service that speaks the protocol of OpenAI
// or of Ollama.
package embeddings

import (
	"context"
	"fmt"
)

// Embedder turns texts into vectors.
type Embedder interface {
	// Name is "provider/model", as it goes on record.
	Name() string
	// Dimensions is the length of every vector; 0 as long as it is unknown.
	Dimensions() int
	// Embed gives one vector a text, in order: a unit vector, or the zero vector
	// for a text the model can say nothing about.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// weighted is an Embedder whose vectors may be added up, so that the parts of a
// tool can count differently.
type weighted interface {
	EmbedWeighted(parts []string, weights []float32) []float32
}

// EmbedTools gives one vector a tool, in order. A model whose vectors may be added
// weighs the parts of a tool; any other embeds one text that names them all.
func EmbedTools(ctx context.Context, e Embedder, tools []Tool) ([][]float32, error) {
	if c, ok := e.(*Cache); ok {
		e = c.inner // tools are embedded once: they would only push queries out
	}
	if w, ok := e.(weighted); ok {
		vectors := make([][]float32, len(tools))
		for i := range tools {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			vectors[i] = w.EmbedWeighted(tools[i].parts(), partWeights)
		}
		return vectors, nil
	}
	texts := make([]string, len(tools))
	for i := range tools {
		texts[i] = tools[i].Text()
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d tools: %w", len(tools), err)
	}
	return vectors, nil
}
