package postgres

import "context"

// OutdateVectors makes every tool pending for a model. The vectors stay, and are
// searched, until each is written anew.
func (s *Store) OutdateVectors(ctx context.Context, modelID int64) error {
	_, err := s.pool.Exec(ctx, `update tool_embeddings set text_hash = '' where model_id = $1`, modelID)
	return wrap("outdate vectors", err)
}
