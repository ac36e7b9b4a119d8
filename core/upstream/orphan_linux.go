package upstream

import "syscall"

// dieWithUs has the kernel kill a child whose parent was killed, and so could not
// stop it: some servers do not mind that their input has ended.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
