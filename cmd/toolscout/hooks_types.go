package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// hookType is a type as the API answers it.
type hookType struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes"`
	OpenToMe    bool     `json:"openToMe"`
	Defaults    struct {
		Level    string   `json:"level"`
		Events   []string `json:"events"`
		Mode     string   `json:"mode"`
		OnError  string   `json:"onError"`
		Priority int      `json:"priority"`
		Timeout  string   `json:"timeout"`
	} `json:"defaults"`
	Schema setting `json:"schema"`
}

// setting is what a type's schema says of one value, as far as people are told.
type setting struct {
	Description string             `json:"description"`
	Default     json.RawMessage    `json:"default"`
	Enum        []json.RawMessage  `json:"enum"`
	Items       *setting           `json:"items"`
	Properties  map[string]setting `json:"properties"`
	Required    []string           `json:"required"`
}

func (p *program) hooksTypes() *cobra.Command {
	return &cobra.Command{Use: "types [TYPE]", Short: "List the types of hooks, or show one with its configuration",
		Example: "  toolscout hooks types\n  toolscout hooks types rate_limit", Args: cobra.MaximumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
			a, err := p.api()
			if err != nil {
				return err
			}
			items, err := all[json.RawMessage](c.Context(), a, myHooksPath+"/types", nil, 0)
			if err != nil {
				return err
			}
			types, err := decodeAll[hookType](items)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return p.print(items, func() {
					var rows [][]string
					for _, t := range types {
						rows = append(rows, []string{t.Name, t.Defaults.Level, t.Defaults.OnError, fmt.Sprint(t.Defaults.Priority), yes(t.OpenToMe), short(t.Description, 80)})
					}
					p.table("no types", []string{"TYPE", "LEVEL", "ON ERROR", "PRIORITY", "OPEN TO USERS", "WHAT IT DOES"}, rows)
				})
			}
			i := slices.IndexFunc(types, func(t hookType) bool { return t.Name == args[0] })
			if i < 0 {
				return fmt.Errorf("there is no type %q: see toolscout hooks types", args[0])
			}
			return p.print(items[i], func() { p.typeHelp(types[i]) })
		}}
}

// typeHelp tells a person how to configure a type.
func (p *program) typeHelp(t hookType) {
	d := t.Defaults
	events := cmp.Or(strings.Join(d.Events, ", "), "any")
	fmt.Fprintf(p.stdout, "%s: %s\n\nscopes %s; events %s;\nby default level %s, mode %s, on_error %s, priority %d, timeout %s\n\n", t.Name, t.Description,
		strings.Join(t.Scopes, ", "), events, d.Level, d.Mode, d.OnError, d.Priority, d.Timeout)
	p.table("it has no configuration of its own", []string{"KEY", "DEFAULT", "MEANING"}, t.Schema.rows(""))
}

// rows are the members of an object and of what is in it, as in rules[].do.
func (s setting) rows(prefix string) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member := s.Properties[name]
		fallback := dash(short(string(member.Default), 30))
		if slices.Contains(s.Required, name) {
			fallback = "(required)"
		}
		rows = append(rows, []string{prefix + name, fallback, member.meaning()})
		rows = append(rows, member.rows(prefix+name+".")...)
		if member.Items != nil {
			rows = append(rows, member.Items.rows(prefix+name+"[].")...)
		}
	}
	return rows
}

// meaning is the description with the values that are allowed.
func (s setting) meaning() string {
	values := s.Enum
	if s.Items != nil {
		values = s.Items.Enum
	}
	if len(values) == 0 {
		return s.Description
	}
	var names []string
	for _, v := range values {
		names = append(names, strings.Trim(string(v), `"`))
	}
	return s.Description + " (" + strings.Join(names, ", ") + ")"
}
