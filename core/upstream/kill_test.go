package upstream_test

import (
	"syscall"
	"testing"
)

// kill ends a child that the test started.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the child has ended", func() bool { return gone(pid) })
}
