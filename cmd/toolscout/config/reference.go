package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/toolscout/toolscout/hooks"
)

// Reference is docs/configuration.md: every variable and every key, from the
// same tables that Load reads.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n<!-- Made from the code by `make docs`; do not edit. -->\n\n" +
		"Flags win over the environment, the environment over the file. Variables marked\nwith * may also be given as `NAME_FILE`, the path of a file that holds the value.\n\n")
	b.WriteString("## The server's environment\n\n")
	settingsTable(&b, Settings())
	b.WriteString("\n## The environment of the commands that talk to a server\n\n")
	settingsTable(&b, ClientSettings())
	b.WriteString("\n## The file\n\nTOML, read at the start and at SIGHUP. A key that is not in these tables is\nrefused, with its line. `${NAME}` reads the environment; in a server's `env`,\n`headers`, `url`, `command` and `args` it is read when the server is connected to, so that one that is\nnot set makes that server `misconfigured` and nothing else. `${TOOLSCOUT_CONFIG_DIR}` in\n`command`, `args` and `env` is the folder of the file. At SIGHUP the servers\nand the hooks are applied anew; the other tables need a restart.\n")
	for table := range reflect.TypeFor[file]().Fields() {
		if table.Type.Kind() != reflect.Struct {
			continue // [hooks], below
		}
		fmt.Fprintf(&b, "\n### `[%s]`\n\n", table.Tag.Get("toml"))
		keysTable(&b, table.Type)
	}
	b.WriteString("\n### `[[gateway.servers]]`\n\nOne table for each server. A server that leaves the file becomes inactive; its id and\neverybody's switches stay for when it comes back. A start without a file changes none.\n\n")
	keysTable(&b, reflect.TypeFor[fileServer]())
	b.WriteString("\n### `[hooks]`\n\n")
	keysTable(&b, reflect.TypeFor[fileHooks]())
	b.WriteString("\n### `[hooks.NAME]`\n\nOne table for each hook; docs/hooks.md tells what they do. Beside these keys stand those of the\ntype, which `toolscout hooks types` lists.\n\n")
	keysTable(&b, reflect.TypeFor[hooks.Settings]())
	return b.String()
}

func settingsTable(b *strings.Builder, settings []Setting) {
	b.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, s := range settings {
		name := "`" + s.Name + "`"
		if s.Also != "" {
			name += " or `" + s.Also + "`"
		}
		if s.Secret {
			name += " *"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, code(s.Default), s.Help)
	}
}

func keysTable(b *strings.Builder, t reflect.Type) {
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for f := range t.Fields() {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", cmp.Or(f.Tag.Get("toml"), f.Tag.Get("json")), code(f.Tag.Get("default")), f.Tag.Get("help"))
	}
}

func code(s string) string {
	if s == "" || strings.Contains(s, " ") {
		return s
	}
	return "`" + s + "`"
}
