// Package catalog keeps what is stored about servers in step with what they
// offer, and the vectors in step with what is stored.
//
// A Syncer lists servers and writes the differences. Definitions come from
// strangers: Sanitize makes the best of each, and nothing in one can take down
// its server's other tools. An Indexer embeds what has no vector yet.
package catalog
