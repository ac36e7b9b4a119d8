package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tracer is a script that writes its name into the arguments and into the result.
const tracer = `
def before_call(ctx, request):
    args = request.arguments
    at = args["params"] if ctx.level == "meta" else args
    at["before"] = at.get("before", []) + [config["name"]]
    return args

def after_call(ctx, result):
    data = result.json()
    data["after"] = data.get("after", []) + [config["name"]]
    return result.with_json(data)
`

// traced is a tracer in the database.
func traced(name string, priority int, fields ...any) map[string]any {
	return with(map[string]any{"name": name, "type": "script", "priority": priority,
		"config": map[string]any{"source": tracer, "vars": map[string]any{"name": name}}}, fields...)
}

// tracedInFile is a tracer in the configuration file.
func tracedInFile(name string, lines ...string) string {
	return toml("hooks."+name, append(lines, `type = "script"`, fmt.Sprintf("source = %q", tracer))...) +
		toml("hooks."+name+".vars", fmt.Sprintf("name = %q", name))
}

// TestHooksOrder sends one call through hooks of all scopes and all places where
// hooks are configured, and asks which they are.
func TestHooksOrder(t *testing.T) {
	t.Parallel()
	found := t.TempDir()
	script := "hook = {\"priority\": 500}\n" + strings.ReplaceAll(tracer, `config["name"]`, `"found"`)
	if err := os.WriteFile(filepath.Join(found, "found.star"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, options{config: toml("hooks", fmt.Sprintf("discovery_paths = [%q]", found), `open_to_users = ["script"]`) +
		tracedInFile("file-late", "priority = 900") + tracedInFile("file-user", `user = "ann"`, "priority = -5") +
		tracedInFile("file-off", "enabled = false")})
	left, right := s.register(testserver(t, "left")), s.register(testserver(t, "right"))
	ann, token := s.user("ann")
	bob, _ := s.user("bob")
	for _, h := range []map[string]any{
		traced("b", 700), traced("a", 700), traced("early", 100),
		traced("server", 1, "serverId", left.ID), traced("both", -10, "userId", ann, "serverId", left.ID),
		traced("outer-user", -100, "userId", ann, "level", "meta", "pattern", "execute_*"), traced("outer", 5, "level", "meta", "pattern", "execute_*"),
		// These are for others.
		traced("bob's", 1, "userId", bob), traced("right", 1, "serverId", right.ID), traced("agent", 1, "agents", []string{"ide"}),
		traced("pattern", 1, "pattern", "right_*"), traced("off", 1, "enabled", false),
	} {
		s.addHook(h)
	}
	for _, h := range []map[string]any{traced("mine", 0), traced("mine too", -20, "serverId", left.ID)} {
		s.must("POST", "/v1/hooks", token, h, nil)
	}
	outside := []string{"outer", "outer-user"}
	inside := []string{"early", "found", "a", "b", "file-late", "server", "file-user", "mine", "mine too", "both"}

	order := slices.Concat(outside, inside)
	var reverse []string
	for _, name := range slices.Backward(order) {
		reverse = append(reverse, name)
	}
	for name, w := range map[string]way{"mcp": viaMCP(join(t, s, caller{token: token}, "")), "rest": s.viaREST(caller{token: token})} {
		got := decodeTB[struct{ Before, After []string }](t, w.run(t, "left_echo", nil).Body)
		same(t, name+": before", got.Before, order)
		same(t, name+": after", got.After, reverse)
	}

	var x struct {
		Outer, Inner []configuredHook
		Skipped      []struct{ Name, Why string }
	}
	s.must("GET", "/v1/admin/hooks/effective?user=ann&tool=left_echo", adminToken, nil, &x)
	same(t, "outer chain", names(x.Outer), slices.Concat([]string{"audit", "access_control"}, outside))
	same(t, "inner chain", names(x.Inner), slices.Concat([]string{"audit", "access_control"}, inside))
	places := map[string]string{}
	for _, h := range x.Inner {
		places[h.Name] = h.Scope + " " + h.Origin.Kind
		if h.Origin.Kind == "file" && !strings.Contains(h.Origin.Where, "toolscout.toml:") || h.Origin.Kind == "script" && h.Origin.Where != filepath.Join(found, "found.star") {
			t.Errorf("%s comes from %q", h.Name, h.Origin.Where)
		}
	}
	same(t, "where they come from", places, map[string]string{"audit": "global builtin", "access_control": "global builtin",
		"early": "global database", "found": "global script", "a": "global database", "b": "global database", "file-late": "global file", "server": "server database",
		"file-user": "user file", "mine": "user database", "mine too": "user+server database", "both": "user+server database"})
	why := map[string]string{}
	for _, h := range x.Skipped {
		why[h.Name] = h.Why
	}
	same(t, "left out", why, map[string]string{"right": `it is for the server ` + right.ID + `, and the tool is on "left"`,
		"agent": `it is for the agents ide, and this call names none`, "pattern": `pattern "right_*" does not match "left_echo"`,
		"off": "it is switched off", "file-off": "it is switched off"})

	env := []string{"TOOLSCOUT_URL=" + s.url, "TOOLSCOUT_TOKEN=" + adminToken, "TOOLSCOUT_DATA_DIR=" + t.TempDir()}
	c := cli(t, env, "hooks", "explain", "--user", "ann", "--tool", "left_echo")
	chains, skipped, _ := strings.Cut(c.stdout, "\nleft out\n")
	at := 0
	for _, name := range order {
		next := strings.Index(chains[at:], "\n"+name+" ")
		if next < 0 {
			t.Fatalf("%s is not in its place in:\n%s%s", name, c.stdout, c.stderr)
		}
		at += next
	}
	if !strings.Contains(skipped, "right_*") || strings.Contains(c.stdout, "bob's") {
		t.Errorf("the command says:\n%s", c.stdout)
	}
}

func names(hooks []configuredHook) []string {
	var list []string
	for _, h := range hooks {
		list = append(list, h.Name)
	}
	return list
}
