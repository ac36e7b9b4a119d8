package integration_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestComposeFile reads docker-compose.yml as Compose would: no engine is needed
// to see that it parses and says what it must.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), "node", "node_modules/yaml/bin.mjs", "--json")
	cmd.Stdin = file
	type service struct {
		Image, Build string
		Environment  map[string]any
		Healthcheck  *struct{ Test []string }
		Depends      map[string]any `json:"depends_on"`
	}
	docs := decode[[]struct {
		Services map[string]service
		Volumes  map[string]any
	}](t, output(t, cmd))
	if len(docs) != 1 {
		t.Fatalf("got %d documents, want 1", len(docs))
	}
	db, ours := docs[0].Services["postgres"], docs[0].Services["toolscout"]
	if db.Image == "" || db.Healthcheck == nil {
		t.Errorf("postgres is %+v", db)
	}
	if ours.Build != "." || ours.Environment["TOOLSCOUT_DATABASE_URL"] == nil || ours.Depends["postgres"] == nil {
		t.Errorf("toolscout is %+v", ours)
	}
	if len(docs[0].Volumes) != 2 {
		t.Errorf("got %d volumes, want 2", len(docs[0].Volumes))
	}
}
