package core

import (
	"regexp"
	"strings"
)

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// References gives the names of the environment variables that a text refers to as
// ${NAME}, also within other braces. Whoever refuses references finds here exactly
// those that ReplaceReferences replaces.
func References(text string) []string {
	var names []string
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// ReplaceReferences replaces each ${NAME} in a text by what value gives for NAME.
func ReplaceReferences(text string, value func(name string) string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return reference.ReplaceAllStringFunc(text, func(ref string) string { return value(ref[len("${") : len(ref)-len("}")]) })
}
