package admin

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
	"github.com/toolscout/toolscout/core/secret"
)

// Policy says which servers may be registered through the API. The
// configuration file is the operator's own and bound by none of it.
type Policy struct {
	// LoopbackOnly: we listen on loopback alone, with no proxy before us, so that
	// whoever reaches us is on this machine already, and may run commands and reach
	// private addresses.
	LoopbackOnly bool
	// AllowStdio opens commands in any case.
	AllowStdio bool
	// Networks are private networks that are open in any case.
	Networks []netip.Prefix
}

// lookupTimeout bounds the look at what a host's name resolves to.
const lookupTimeout = 3 * time.Second

// check refuses a server with core.Denied and names the setting that would allow it.
func (p Policy) check(ctx context.Context, s core.Server) error {
	if err := ownSecrets(s); err != nil {
		return err
	}
	if s.Transport == core.Stdio {
		if p.LoopbackOnly || p.AllowStdio {
			return nil
		}
		return core.Errorf(core.Denied, "a command cannot be registered through the API while we listen on more than loopback").
			WithHint("Declare the server in the configuration file, or set allow_stdio_from_api = true under [gateway].")
	}
	return p.checkHost(ctx, s.URL)
}

// checkHost refuses hosts that are private now. It is a courtesy: the dialer
// looks again at every connection, so a name that cannot be resolved yet passes.
func (p Policy) checkHost(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || strings.Contains(u.Hostname(), "${") {
		return nil
	}
	guard := egress.New(egress.Config{AllowPrivate: p.LoopbackOnly, AllowNetworks: p.Networks})
	for _, addr := range resolve(ctx, u.Hostname()) {
		if guard.Check(addr) != nil {
			return core.Errorf(core.Denied, "the address %s of %q is private", addr, u.Hostname()).
				WithHint("Declare the server in the configuration file, or set allow_networks = [%q] under [gateway].", network(addr))
		}
	}
	return nil
}

func resolve(ctx context.Context, host string) []netip.Addr {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	return addrs
}

// network is the single address as the smallest network.
func network(addr netip.Addr) string {
	addr = addr.WithZone("").Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()).String()
}

// ownSecrets refuses references to our own credentials: an admin of the API may
// use the environment's secrets for servers, but not send off the key of the
// database or of the gateway itself.
func ownSecrets(s core.Server) error {
	values := append([]string{s.URL, s.Command}, s.Args...)
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, v := range m {
			values = append(values, v)
		}
	}
	for _, v := range values {
		for _, name := range core.References(v) {
			if secret.Reserved(name) {
				return core.Errorf(core.Denied, "${%s} belongs to the gateway itself", name).
					WithHint("Put the value under another name into the environment, or declare the server in the configuration file.")
			}
		}
	}
	return nil
}
