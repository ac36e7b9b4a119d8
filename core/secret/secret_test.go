package secret_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolscout/toolscout/core/secret"
)

func TestOpenGivesBackWhatWasSealed(t *testing.T) {
	t.Parallel()
	box := secret.New([32]byte{1})
	for _, value := range []string{"", "ghp_abc", "ünïcode\x00", "enc:v1:looks sealed", strings.Repeat("x", 1<<16)} {
		sealed := box.Seal(value)
		if strings.Contains(sealed, value) && value != "" {
			t.Errorf("Seal(%.20q) shows the value", value)
		}
		got, err := box.Open(sealed)
		if err != nil || got != value {
			t.Errorf("Open(Seal(%.20q)) = %.20q, %v", value, got, err)
		}
	}
	if first, second := box.Seal("a"), box.Seal("a"); first == second {
		t.Error("equal values are sealed alike")
	}
}

func TestOpenLeavesWhatIsNotSealed(t *testing.T) {
	t.Parallel()
	got, err := secret.New([32]byte{1}).Open("Bearer ${TOKEN}")
	if err != nil || got != "Bearer ${TOKEN}" {
		t.Errorf("Open = %q, %v", got, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	box := secret.New([32]byte{1})
	sealed := box.Seal("a secret")
	for name, value := range map[string]string{
		"another key":     secret.New([32]byte{2}).Seal("a secret"),
		"not base64":      "enc:v1:%%%",
		"too short":       "enc:v1:AAAA",
		"a changed value": sealed[:len(sealed)-6] + "AAAAA=",
	} {
		if got, err := box.Open(value); err == nil {
			t.Errorf("%s: Open = %q, want an error", name, got)
		}
	}
}

func TestSealAllAndMaskAllKeepReferences(t *testing.T) {
	t.Parallel()
	box := secret.New([32]byte{1})
	given := map[string]string{"A": "${A_TOKEN}", "B": "Bearer ${B_TOKEN}", "C": "literal", "D": "x${E}", "E": "", "F": "enc:v1:AAAA"}
	sealed := box.SealAll(given)
	opened := map[string]string{}
	for k, v := range sealed {
		plain, err := box.Open(v)
		if err != nil {
			t.Fatal(err)
		}
		opened[k] = plain
	}
	if diff := cmp.Diff(given, opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	for _, k := range []string{"C", "D", "F"} {
		if sealed[k] == given[k] {
			t.Errorf("%s is stored as it is", k)
		}
	}
	want := map[string]string{"A": "${A_TOKEN}", "B": "Bearer ${B_TOKEN}", "C": "***", "D": "***", "E": "", "F": "***"}
	for name, got := range map[string]map[string]string{"given": secret.MaskAll(given), "sealed": secret.MaskAll(sealed)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("MaskAll of %s (-want +got):\n%s", name, diff)
		}
	}
}
