package catalog

// Built returns when no index of vectors is being built.
func (x *Indexer) Built() { x.building.Wait() }
