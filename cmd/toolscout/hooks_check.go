package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/core/hookset"
	"github.com/toolscout/toolscout/hooks"
	"github.com/toolscout/toolscout/hooks/script"
)

// checked is what is to say of a script.
type checked struct {
	File  string `json:"file"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (p *program) hooksCheck() *cobra.Command {
	return &cobra.Command{Use: "check FILE ...", Short: "Check that scripts compile; needs no server",
		Long: "Check that scripts compile, and that what they say of themselves in hook = {…} is valid. Needs\n" +
			"no server; - is standard input. Ends with status 1 when one is not as it should be.",
		Example: "  toolscout hooks check .toolscout/hooks/*.star",
		Args:    cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
			set, err := hookset.New(hookset.Config{Types: []hooks.Type{script.Type(script.Config{})}})
			if err != nil {
				return err
			}
			var all []checked
			failed := false
			for _, name := range args {
				found := p.checkScript(set, name)
				failed = failed || !found.OK
				all = append(all, found)
			}
			err = p.print(all, func() {
				for _, found := range all {
					if found.OK {
						fmt.Fprintf(p.stdout, "%s: ok\n", found.File)
						continue
					}
					fmt.Fprintln(p.stderr, found.Error)
				}
			})
			if err = errors.Join(err, set.Close(c.Context())); err == nil && failed {
				return errReported
			}
			return err
		}}
}

// checkScript says all that is wrong with a script, each fault on a line that begins
// with the file's name.
func (p *program) checkScript(set *hookset.Set, name string) checked {
	source, err := p.readFile(name)
	if err != nil {
		return checked{File: name, Error: err.Error()}
	}
	var lines []string
	for _, f := range set.CheckScript(name, source) {
		text := strings.TrimPrefix(f.Message, filepath.Base(name)+":")
		if text == f.Message {
			text = fmt.Sprintf(" hook%s %s", hookKey(f.Pointer), f.Message)
		}
		lines = append(lines, name+":"+text)
	}
	return checked{File: name, OK: len(lines) == 0, Error: strings.Join(lines, "\n")}
}
