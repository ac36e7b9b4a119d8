package egress_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/egress"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		addr string
		ok   bool
	}{
		{"93.184.215.14", true},
		{"2606:2800:21f:cb07:6820:80da:af6b:8b2c", true},
		{"8.8.8.8", true},
		{"64:ff9b::808:808", true}, // NAT64 of 8.8.8.8
		{"2002:808:808::1", true},  // 6to4 of 8.8.8.8
		{"::ffff:8.8.8.8", true},
		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"::1", false},
		{"::ffff:127.0.0.1", false},
		{"::127.0.0.1", false},
		{"::", false},
		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"10.0.0.1", false},
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"172.32.0.1", true},
		{"192.168.1.1", false},
		{"::ffff:192.168.1.1", false},
		{"100.64.0.1", false},
		{"100.100.100.200", false},
		{"169.254.169.254", false},
		{"::ffff:169.254.169.254", false},
		{"64:ff9b::a9fe:a9fe", false}, // NAT64 of the metadata service
		{"64:ff9b:1::a00:1", false},
		{"168.63.129.16", false},
		{"::ffff:0:127.0.0.1", false}, // translated
		{"2002:7f00:1::", false},      // 6to4 of loopback
		{"2002:a9fe:a9fe::", false},   // 6to4 of the metadata service
		{"2001:0:1::1", false},        // Teredo
		{"fd00:ec2::254", false},
		{"fc00::1", false},
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"fec0::1", false},
		{"ff02::1", false},
		{"224.0.0.1", false},
		{"239.255.255.250", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"192.0.2.1", false},
		{"198.18.0.1", false},
		{"2001:db8::1", false},
	}
	guard, open := egress.New(egress.Config{}), egress.New(egress.Config{AllowPrivate: true})
	for _, test := range tests {
		addr := netip.MustParseAddr(test.addr)
		if err := guard.Check(addr); (err == nil) != test.ok {
			t.Errorf("%s: got %v, want allowed %v", addr, err, test.ok)
		} else if err != nil && !errors.Is(err, core.Denied) {
			t.Errorf("%s: got %v, want denied", addr, err)
		}
		if err := open.Check(addr); err != nil {
			t.Errorf("%s, all allowed: %v", addr, err)
		}
	}
}

func TestCheckAllowedNetworks(t *testing.T) {
	t.Parallel()
	g := egress.New(egress.Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}})
	for addr, ok := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false,
		"fd00:1::5": true, "fd00:2::5": false, "127.0.0.1": false, "2002:a01:203::1": true} {
		if err := g.Check(netip.MustParseAddr(addr)); (err == nil) != ok {
			t.Errorf("%s: got %v, want allowed %v", addr, err, ok)
		}
	}
}

// TestDial dials names and odd spellings of loopback addresses, on a port where
// something does listen.
func TestDial(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	guard := egress.New(egress.Config{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		conn, err := guard.DialContext(t.Context(), "tcp", host+":"+port)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, core.Denied) {
			t.Errorf("%s: got %v, want denied", host, err)
		}
	}
	// Whether these mean an address depends on the resolver; they must not get through.
	for _, host := range []string{"2130706433", "0177.0.0.1", "0x7f.0.0.1", "127.1"} {
		if conn, err := guard.DialContext(t.Context(), "tcp", host+":"+port); err == nil {
			conn.Close()
			t.Errorf("%s: connected", host)
		}
	}
	conn, err := egress.New(egress.Config{AllowPrivate: true}).DialContext(t.Context(), "tcp", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestDialOtherNetworks(t *testing.T) {
	t.Parallel()
	if _, err := egress.New(egress.Config{}).DialContext(context.Background(), "udp", "8.8.8.8:53"); !errors.Is(err, core.Denied) {
		t.Errorf("got %v, want denied", err)
	}
}

func TestClientRefusesRedirects(t *testing.T) {
	t.Parallel()
	reached := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	outside := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound))
	defer outside.Close()
	resp, err := egress.New(egress.Config{AllowPrivate: true}).Client(0).Get(outside.URL)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, core.Denied) || reached {
		t.Errorf("got %v, reached %v, want denied", err, reached)
	}
}

func TestTransportIsGuarded(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	resp, err := egress.New(egress.Config{}).Client(0).Get(srv.URL)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, core.Denied) {
		t.Errorf("got %v, want denied", err)
	}
	if egress.New(egress.Config{}).Transport().Proxy != nil {
		t.Error("a guarded transport takes a proxy, which would hide the address")
	}
}
