package door

import (
	"net/http"

	"github.com/toolscout/toolscout/core"
)

// Again says who calls now: for an answer that lasts so long that its caller's
// token may have been revoked, or their roles changed, since it began.
// Unauthenticated when it is nobody any more, Unavailable when that is not known.
func (d *Door) Again(r *http.Request) (core.Principal, error) { return d.authenticate(r) }
