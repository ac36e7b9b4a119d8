// Package egress is the one way out: every connection that Toolscout opens on
// somebody's behalf is dialled by a Guard, which looks at the address that a
// name really resolved to, at the moment of connecting. Looking earlier would
// leave room for a name that answers differently the second time.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/toolscout/toolscout/core"
)

// Config says where a Guard may connect to.
type Config struct {
	// AllowPrivate opens every address: for what the operator declared.
	AllowPrivate bool
	// AllowNetworks are opened although they are not public.
	AllowNetworks []netip.Prefix
}

// Guard dials, and refuses addresses that are not public unless it was told to
// allow them.
type Guard struct {
	allowPrivate  bool
	allowNetworks []netip.Prefix
	dialer        *net.Dialer
}

// New makes a Guard.
func New(cfg Config) *Guard {
	g := &Guard{allowPrivate: cfg.AllowPrivate, allowNetworks: append([]netip.Prefix(nil), cfg.AllowNetworks...)}
	g.dialer = &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: g.control}
	return g
}

// DialContext connects to address, which may be a name. It fails with
// core.Denied when the name resolves to an address that is not allowed.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return g.dialer.DialContext(ctx, network, address)
}

// Transport gives a new HTTP transport that dials through g. It has no overall
// timeout, because streams last as long as their context.
func (g *Guard) Transport() *http.Transport {
	t := &http.Transport{
		DialContext:           g.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// Behind a proxy the guard would see the proxy's address alone.
		Proxy: nil,
	}
	if g.allowPrivate {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

// Client gives an HTTP client that dials through g, follows no redirect, and
// spends at most timeout (0: unlimited) on one exchange.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{Transport: g.Transport(), Timeout: timeout, CheckRedirect: RefuseRedirect}
}

// RefuseRedirect is an http.Client's CheckRedirect that follows none: where a
// server sends us is not what was allowed, and credentials must not go there.
func RefuseRedirect(req *http.Request, _ []*http.Request) error {
	return core.Errorf(core.Denied, "redirect to %s refused", req.URL.Host)
}

// Check reports whether g may connect to addr: nil, or a core.Denied.
func (g *Guard) Check(addr netip.Addr) error {
	if g.allowPrivate {
		return nil
	}
	plain := embedded(addr.WithZone("").Unmap())
	for _, p := range g.allowNetworks {
		if p.Contains(plain) || p.Contains(addr.WithZone("")) {
			return nil
		}
	}
	for _, p := range special {
		if p.Contains(plain) {
			return core.Errorf(core.Denied, "the address %s is not public, and not allowed here", addr).
				WithHint("an operator can open its network with allow_networks, or declare the server in the configuration file")
		}
	}
	return nil
}

func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return core.Errorf(core.Denied, "network %q is not allowed", network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	return g.Check(ap.Addr())
}

// embedded gives the IPv4 address inside a NAT64 (RFC 6052) or 6to4 (RFC 3056)
// address, since that is where packets end up, or else addr itself.
func embedded(addr netip.Addr) netip.Addr {
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")

	// special is what IANA's special-purpose registries (RFC 6890 and its
	// updates) list as not globally reachable, and multicast.
	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network
		netip.MustParsePrefix("10.0.0.0/8"),      // private
		netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT, some clouds' metadata
		netip.MustParsePrefix("127.0.0.0/8"),     // loopback
		netip.MustParsePrefix("169.254.0.0/16"),  // link-local, metadata services
		netip.MustParsePrefix("172.16.0.0/12"),   // private
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.168.0.0/16"),  // private
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarking
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("224.0.0.0/4"),     // multicast
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
		netip.MustParsePrefix("::/96"),           // unspecified, loopback, IPv4-compatible
		netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated (RFC 2765)
		netip.MustParsePrefix("64:ff9b:1::/48"),  // local-use NAT64
		netip.MustParsePrefix("100::/64"),        // discard
		netip.MustParsePrefix("2001::/23"),       // Teredo and other protocol assignments
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("3fff::/20"),       // documentation
		netip.MustParsePrefix("5f00::/16"),       // segment routing
		netip.MustParsePrefix("fc00::/7"),        // unique local
		netip.MustParsePrefix("fe80::/10"),       // link-local
		netip.MustParsePrefix("fec0::/10"),       // site-local
		netip.MustParsePrefix("ff00::/8"),        // multicast

		// Where Azure hands a machine its secrets: public by its number alone.
		netip.MustParsePrefix("168.63.129.16/32"),
	}
)
