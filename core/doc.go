// Package core holds the words that every other part of Toolscout shares: who
// asks (Principal), what is registered (Server), what can be called (Tool), who
// may see what (Access), and how a refusal is told (Error, Kind).
//
// It imports the standard library only, does no I/O and knows no technology.
package core
