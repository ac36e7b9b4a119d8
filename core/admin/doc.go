// Package admin is all that an administrator can do, one method each: servers,
// users, tokens, switches, domains, the index, the audit.
//
// Every method takes the request it is done for, refuses principals without the
// role admin, and leaves an audit row: the store writes it together with a change
// that works, this package writes it for an attempt that does not.
package admin
