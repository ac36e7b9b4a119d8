package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolscout/toolscout/cmd/toolscout/config"
)

// override is a flag that lies over an environment variable.
type override struct {
	flags map[string]string
	name  string
}

func (o override) String() string     { return "" }
func (o override) Type() string       { return "string" }
func (o override) Set(v string) error { o.flags[o.name] = v; return nil }

// variable adds a flag for an environment variable, with the help of the table.
func (p *program) variable(flags *pflag.FlagSet, flag, name string) {
	for _, s := range append(config.Settings(), config.ClientSettings()...) {
		if s.Name == name {
			help := strings.ReplaceAll(s.Help, "`", "")
			if s.Default != "" {
				help += fmt.Sprintf(" (default %s)", s.Default)
			}
			flags.Var(override{p.flags, name}, flag, help+" [$"+name+"]")
			return
		}
	}
	panic("no setting " + name)
}

// serverVariables adds the flags of the commands that run a server.
func (p *program) serverVariables(c *cobra.Command) {
	p.variable(c.Flags(), "addr", "TOOLSCOUT_ADDR")
	p.variable(c.Flags(), "config", "TOOLSCOUT_CONFIG")
	p.variable(c.Flags(), "data-dir", "TOOLSCOUT_DATA_DIR")
	p.variable(c.Flags(), "database-url", "TOOLSCOUT_DATABASE_URL")
}

// pairs reads NAME=VALUE flags.
func pairs(flag string, in []string) (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range in {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("--%s %q: want NAME=VALUE", flag, kv)
		}
		out[k] = v
	}
	return out, nil
}
