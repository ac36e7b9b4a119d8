package embeddings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/embeddings"
	"github.com/toolscout/toolscout/embeddings/builtin"
	"github.com/toolscout/toolscout/embeddings/embedtest"
)

func TestParameters(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"nothing", ``, ""},
		{"two levels", `{"properties":{"b":{"description":"second"},"a":{"properties":{"c":{"description":"in a",
			"properties":{"deep":{}}}}}}}`, "a= c=in a b=second"},
		{"odd types", `{"properties":{"a":true,"b":{"description":7,"properties":[1]},"c":null}}`, "a= b= c="},
		{"no object", `{"properties":[1,2]}`, ""},
		{"not JSON", `{"properties":`, ""},
	}
	for _, test := range tests {
		var got []string
		for _, p := range embeddings.Parameters(json.RawMessage(test.schema)) {
			got = append(got, p.Name+"="+p.Description)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: got %q, want %q", test.name, s, test.want)
		}
	}
}

var issues = core.Tool{Name: "create_issue", Title: "New issue", Description: "Opens an issue in a repository.",
	InputSchema: json.RawMessage(`{"properties":{"repo":{"description":"owner/name"},"title":{}}}`)}

func TestText(t *testing.T) {
	t.Parallel()
	tool := embeddings.Describe(issues, "github")
	want := "create_issue\nNew issue\nOpens an issue in a repository.\nServer: github\nParameter repo: owner/name\nParameter title"
	if diff := cmp.Diff(tool.Text(), want); diff != "" {
		t.Errorf("text (-got +want):\n%s", diff)
	}
	tool.Description = strings.Repeat("é", 5000)
	if n := len([]rune(tool.Text())); n != 2000 {
		t.Errorf("a long text has %d characters", n)
	}
}

func TestEmbedTools(t *testing.T) {
	t.Parallel()
	table, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	tools := []embeddings.Tool{embeddings.Describe(issues, "github"), {Name: "weather", Description: "forecast"}, {}}
	server := embedtest.New(t)
	service := model(t, server, nil)
	for _, e := range []embeddings.Embedder{table, embeddings.Cached(table, 1), service, embeddings.Cached(service, 1)} {
		vectors, err := embeddings.EmbedTools(t.Context(), e, tools)
		if err != nil {
			t.Fatal(err)
		}
		query, err := e.Embed(t.Context(), []string{"open a new issue"})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := dot(query[0], vectors[0]), dot(query[0], vectors[1]); a < b+.2 {
			t.Errorf("%s: the right tool has cosine %.2f, the wrong one %.2f", e.Name(), a, b)
		}
		if dot(vectors[2], vectors[2]) != 0 {
			t.Errorf("%s: a tool without a word has a vector", e.Name())
		}
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	t.Parallel()
	server := embedtest.New(t)
	cache := embeddings.Cached(model(t, server, func(c *embeddings.HTTPConfig) { c.Dimensions = 256 }), 2)
	asked := func(texts ...string) (fresh []string) {
		t.Helper()
		before := len(server.Requests())
		vectors, err := cache.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range builtinVectors(t, texts) {
			if !near(vectors[i], want) {
				t.Errorf("%q has the vector of another text", texts[i])
			}
		}
		for _, r := range server.Requests()[before:] {
			fresh = append(fresh, r.Input...)
		}
		return fresh
	}
	for _, step := range []struct{ ask, fresh []string }{
		{[]string{"file", "issue"}, []string{"file", "issue"}},
		{[]string{"file"}, nil},
		{[]string{"weather", "file"}, []string{"weather"}}, // issue has to go
		{[]string{"issue", "issue"}, []string{"issue", "issue"}},
		{[]string{"issue", "weather"}, nil},
	} {
		if diff := cmp.Diff(asked(step.ask...), step.fresh); diff != "" {
			t.Errorf("asked for %q (-got +want):\n%s", step.ask, diff)
		}
	}
	server.Fail(embedtest.HTML)
	if _, err := cache.Embed(t.Context(), []string{"new"}); err == nil {
		t.Error("a failure of the model was hidden")
	}
	if cache.Name() != "openai/small" || cache.Dimensions() != 256 {
		t.Errorf("the cache is %s with %d dimensions", cache.Name(), cache.Dimensions())
	}
	asked("new")
}

func dot(a, b []float32) float32 {
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
