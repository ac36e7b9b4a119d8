//go:build !linux

package upstream

import "syscall"

// dieWithUs has nothing to say here: a child whose parent was killed sees the end
// of its input.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
