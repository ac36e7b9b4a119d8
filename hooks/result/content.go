package result

import (
	"encoding/base64"
	"encoding/json"

	"github.com/toolscout/toolscout/core/rawjson"
)

// Content is what a block holds.
type Content struct {
	// MimeType is "" where nobody says.
	MimeType string
	// Text is that of a text block or of an embedded text resource. Where a block is
	// neither that nor binary, it is the block's JSON.
	Text string
	// Blob is the decoded content of an image, audio or binary resource, else nil.
	Blob []byte
	// IsText reports that Text is text, which can be replaced by WithText.
	IsText bool
}

// Content reads what a block holds.
func (b Block) Content() Content {
	if text, ok := b.Text(); ok {
		return Content{Text: text, IsText: true}
	}
	switch b.Type {
	case "image", "audio":
		if blob := blobOf(b.Raw, "data"); blob != nil {
			return Content{MimeType: mimeType(b.Raw), Blob: blob}
		}
	case "resource":
		inner := rawjson.Find(b.Raw, "resource")
		if text, ok := stringOf(rawjson.Find(inner, "text")); ok {
			return Content{MimeType: mimeType(inner), Text: text, IsText: true}
		}
		if blob := blobOf(inner, "blob"); blob != nil {
			return Content{MimeType: mimeType(inner), Blob: blob}
		}
	}
	return Content{MimeType: "application/json", Text: string(b.Raw)}
}

// WithText is the block with another text, and all else as it is. The block must be
// one whose Content is text.
func (b Block) WithText(text string) json.RawMessage {
	if b.Type == "resource" {
		return replaceMember(b.Raw, "resource", replaceMember(rawjson.Find(b.Raw, "resource"), "text", encode(text)))
	}
	return replaceMember(b.Raw, "text", encode(text))
}

// replaceMember replaces the value of an object's last member of a name; without
// such a member nothing changes.
func replaceMember(raw json.RawMessage, name string, value []byte) json.RawMessage {
	object, err := rawjson.Scan(raw)
	if err != nil {
		return raw
	}
	m, ok := object.Last(name)
	if !ok {
		return raw
	}
	return rawjson.Replace(raw, m.Start, m.End, value)
}

func mimeType(raw json.RawMessage) string {
	s, _ := stringOf(rawjson.Find(raw, "mimeType"))
	return s
}

// blobOf decodes a member in base64, with or without padding; nil if it is none.
func blobOf(raw json.RawMessage, name string) []byte {
	s, ok := stringOf(rawjson.Find(raw, name))
	if !ok {
		return nil
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding} {
		if blob, err := encoding.DecodeString(s); err == nil {
			return blob
		}
	}
	return nil
}
