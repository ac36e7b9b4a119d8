// Command toolscout lets a language model use thousands of tools through five:
// it keeps a registry of MCP servers, indexes their tools, and forwards calls.
// This package reads the configuration, joins the parts and offers the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
	"github.com/toolscout/toolscout/core"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, config.OS())
	stop()
	os.Exit(code)
}

// program is what every command has: its streams, where its settings come from,
// and the flags that all commands share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	source         config.Source
	json           bool
	// people is where progress is shown; nil where nobody looks.
	people io.Writer
	// flags lie over the environment, by the variable's name.
	flags map[string]string
}

// errReported ends a command with status 1 after it has said why by itself.
var errReported = errors.New("reported")

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, source config.Source) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, source: source, flags: map[string]string{}}
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return 1
	}
	fmt.Fprintf(stderr, "toolscout: %v\n", err)
	var known *core.Error
	if errors.As(err, &known) && known.Hint != "" {
		fmt.Fprintf(stderr, "  %s\n", known.Hint)
	}
	return 1
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "toolscout",
		Short:         "Thousands of tools for a language model, through five",
		Long:          "Toolscout keeps a registry of MCP servers, indexes their tools, and offers five of its own\nthat find and run them.\n\nStart with: toolscout serve",
		Version:       versionString(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("toolscout {{.Version}}\n")
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON for a program instead of text for a person")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", err, c.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "use", Title: "Talk to a running server:"})
	for _, c := range []*cobra.Command{p.serve(), p.stdio(), p.doctor(), p.eval(), p.train(), p.version()} {
		c.GroupID = "run"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{p.servers(), p.tools(), p.users(), p.tokens(), p.hooks(), p.audit(), p.index()} {
		c.GroupID = "use"
		if !c.Runnable() { // a word that is none of its commands is a mistake
			c.Args = cobra.NoArgs
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
		root.AddCommand(c)
		p.variable(c.PersistentFlags(), "url", "TOOLSCOUT_URL")
	}
	sayUsage(root)
	return root
}

// sayUsage has each command answer wrong arguments with how it is called.
func sayUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return fmt.Errorf("%w\n  usage: %s", err, c.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		sayUsage(sub)
	}
}
