package catalog

import "context"

// Built returns when no index of vectors is being built.
func (x *Indexer) Built() { x.building.Wait() }

// WaitActive returns when searches use the model of this name.
func (x *Indexer) WaitActive(ctx context.Context, name string) error {
	for {
		x.mu.Lock()
		moved, active := x.moved, x.served
		x.mu.Unlock()
		if active.err == nil && fullName(active.model) == name {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
