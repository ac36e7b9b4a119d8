// Package secret seals the values that must not lie readable in the database:
// credentials in a server's environment and headers that were given as they are
// instead of as ${NAME} references.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Mask is what is shown in place of a secret. Sent back, it means "as before".
const Mask = "***"

// prefix opens every sealed value: the algorithm is AES-256-GCM, what follows is
// base64 of a random 96-bit nonce and the ciphertext.
const prefix = "enc:v1:"

// reference is a value that names where the secret is found and holds none
// itself: ${NAME}, perhaps after an authentication scheme.
var reference = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9-]{0,30} )?\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// Box seals and opens values with one key. It is safe for concurrent use.
type Box struct {
	aead cipher.AEAD
}

// New makes a Box of a 256-bit key.
func New(key [32]byte) *Box {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the length of the key is right by its type
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size that GCM wants
	}
	return &Box{aead: aead}
}

// Seal encrypts a value. Equal values are sealed differently each time.
func (b *Box) Seal(value string) string {
	nonce := make([]byte, b.aead.NonceSize())
	rand.Read(nonce) // never fails: crypto/rand ends the process instead
	sealed := b.aead.Seal(nonce, nonce, []byte(value), []byte(prefix))
	return prefix + base64.StdEncoding.EncodeToString(sealed)
}

// Open decrypts what Seal made and returns any other value as it is. The error
// never holds the value.
func (b *Box) Open(value string) (string, error) {
	encoded, ok := strings.CutPrefix(value, prefix)
	if !ok {
		return value, nil
	}
	sealed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(sealed) < b.aead.NonceSize() {
		return "", errors.New("a sealed value is damaged")
	}
	nonce, text := sealed[:b.aead.NonceSize()], sealed[b.aead.NonceSize():]
	plain, err := b.aead.Open(nil, nonce, text, []byte(prefix))
	if err != nil {
		return "", fmt.Errorf("a sealed value does not open with this key: %w", err)
	}
	return string(plain), nil
}

// SealAll returns values with every one sealed that is not a reference. It is
// for values as somebody gave them: what looks sealed already is sealed again,
// since only this package may decide what opens.
func (b *Box) SealAll(values map[string]string) map[string]string {
	return each(values, func(v string) string {
		if v == "" || IsReference(v) {
			return v
		}
		return b.Seal(v)
	})
}

// MaskAll returns values fit for an answer: references as they are, everything
// else as Mask.
func MaskAll(values map[string]string) map[string]string {
	return each(values, func(v string) string {
		if v == "" || IsReference(v) {
			return v
		}
		return Mask
	})
}

// Reserved reports whether a reference's name stands for credentials of the gateway
// itself: whoever may use the environment's secrets elsewhere must not send off the
// key of the database, say.
func Reserved(name string) bool {
	return strings.HasPrefix(name, "TOOLSCOUT_") || name == "DATABASE_URL"
}

// IsReference reports whether a value only names where a secret is found.
func IsReference(value string) bool { return reference.MatchString(value) }

func each(values map[string]string, f func(string) string) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for k, v := range values {
		out[k] = f(v)
	}
	return out
}
