// Package natsenv finds out how to connect to NATS as the nats command does: from variables of the
// environment, and from the contexts that it keeps in files.
package natsenv

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Found is what the environment says.
type Found struct {
	Servers []string
	Options []nats.Option
	API     string // the prefix of the API of JetStream; "" for the default
}

// Error says what is wrong with the environment.
type Error struct {
	What string // a context, or a variable
	Err  error
}

// Error names the context or the variable.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// settings are those of a context, by the names that they have in its file.
type settings struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	Token    string `json:"token"`
	Creds    string `json:"creds"`
	NKey     string `json:"nkey"`
	JWT      string `json:"user_jwt"`
	Seed     string `json:"user_seed"`
	Cert     string `json:"cert"`
	Key      string `json:"key"`
	CA       string `json:"ca"`
	TLSFirst bool   `json:"tls_first"`
	Domain   string `json:"jetstream_domain"`
	API      string `json:"jetstream_api_prefix"`
	Inbox    string `json:"inbox_prefix"`

	// Settings that are not understood here.
	NSC       string `json:"nsc"`
	Proxy     string `json:"socks_proxy"`
	CertStore string `json:"windows_cert_store"`
}

// Look finds out how to connect. If the caller knows the servers, a context counts only if it is named:
// the secrets of the selected one are not for any server.
func Look(known bool) (Found, error) {
	s, what, err := context(known)
	if err != nil {
		return Found{}, &Error{what, err}
	}
	s.variables()
	opts, err := s.options()
	if err != nil {
		return Found{}, &Error{cmp.Or(what, "the variables NATS_… of the environment"), err}
	}
	f := Found{Options: opts, API: s.API}
	if f.API == "" && s.Domain != "" {
		f.API = "$JS." + s.Domain + ".API"
	}
	for _, server := range strings.Split(s.URL, ",") {
		if server = strings.TrimSpace(server); server != "" {
			f.Servers = append(f.Servers, server)
		}
	}
	return f, nil
}

// context reads the context that is named or selected. what names it.
func context(known bool) (s settings, what string, err error) {
	name, named := os.Getenv("NATS_CONTEXT"), true
	if name == "" {
		if named = false; known {
			return s, "", nil
		}
		if name, err = selected(); name == "" {
			return s, "the selected context of the nats command", err
		}
	}
	what = "the context " + name + " of the nats command"
	if named {
		what += ", which NATS_CONTEXT names"
	}
	path := name
	if !strings.HasSuffix(name, ".json") {
		if strings.ContainsAny(name, `/\`) || strings.Contains(name, "..") {
			return s, what, errors.New("a name has neither slashes nor two dots")
		}
		root, err := folder()
		if err != nil {
			return s, what, err
		}
		path = filepath.Join(root, "context", name+".json")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return s, what, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, what, fmt.Errorf("read %s: %w", path, err)
	}
	for _, path := range []*string{&s.Creds, &s.NKey, &s.Cert, &s.Key, &s.CA} {
		*path = os.ExpandEnv(*path)
	}
	return s, what, nil
}

// selected returns the name of the selected context; "" for none.
func selected() (string, error) {
	root, err := folder()
	if err != nil {
		return "", nil // a user without a home has selected nothing
	}
	text, err := os.ReadFile(filepath.Join(root, "context.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// folder returns where the nats command keeps its contexts.
func folder() (string, error) {
	if root := os.Getenv("XDG_CONFIG_HOME"); root != "" {
		return filepath.Join(root, "nats"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".config", "nats"), err
}

// variables replaces settings of the context by those of variables. They identify the program
// completely, or not at all.
func (s *settings) variables() {
	get := func(name string, field *string) { *field = cmp.Or(os.Getenv(name), *field) }
	get("NATS_URL", &s.URL)
	if slices.ContainsFunc([]string{"NATS_USER", "NATS_TOKEN", "NATS_CREDS", "NATS_NKEY", "NATS_JWT"}, func(name string) bool { return os.Getenv(name) != "" }) {
		s.User, s.Password, s.Token, s.Creds, s.NKey, s.JWT, s.Seed = "", "", "", "", "", "", ""
	}
	get("NATS_USER", &s.User)
	get("NATS_PASSWORD", &s.Password)
	get("NATS_TOKEN", &s.Token)
	get("NATS_CREDS", &s.Creds)
	get("NATS_NKEY", &s.NKey)
	get("NATS_JWT", &s.JWT)
	get("NATS_SEED", &s.Seed)
	get("NATS_CERT", &s.Cert)
	get("NATS_KEY", &s.Key)
	get("NATS_CA", &s.CA)
	if s.User != "" && s.Password == "" { // as the nats command has it
		s.User, s.Token = "", s.User
	}
}

func (s *settings) options() (opts []nats.Option, err error) {
	for what, value := range map[string]string{"nsc": s.NSC, "socks_proxy": s.Proxy, "windows_cert_store": s.CertStore} {
		if value != "" {
			return nil, fmt.Errorf("busgen does not know the setting %s: give the user by creds or nkey, and reach the servers without", what)
		}
	}
	for _, value := range []*string{&s.User, &s.Password, &s.Token, &s.Creds, &s.NKey, &s.JWT, &s.Seed, &s.Cert, &s.Key, &s.CA} {
		if *value, err = plain(*value); err != nil {
			return nil, err
		}
	}
	switch {
	case s.User != "":
		opts = append(opts, nats.UserInfo(s.User, s.Password))
	case s.Creds != "":
		if _, err := os.Stat(s.Creds); err != nil {
			return nil, err // the client would say so only to a server that asks
		}
		opts = append(opts, nats.UserCredentials(s.Creds))
	case s.NKey != "":
		opt, err := nats.NkeyOptionFromSeed(s.NKey)
		if err != nil {
			return nil, err
		}
		opts = append(opts, opt)
	case s.JWT != "" && s.Seed != "":
		opts = append(opts, nats.UserJWTAndSeed(s.JWT, s.Seed))
	case s.JWT != "":
		opts = append(opts, nats.UserJWT(func() (string, error) { return s.JWT, nil }, func([]byte) ([]byte, error) { return nil, nil }))
	}
	if s.Token != "" {
		opts = append(opts, nats.Token(s.Token))
	}
	if s.Cert != "" && s.Key != "" {
		opts = append(opts, nats.ClientCert(s.Cert, s.Key))
	}
	if s.CA != "" {
		opts = append(opts, nats.RootCAs(s.CA))
	}
	if s.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	if s.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(s.Inbox))
	}
	return opts, nil
}

// plain returns a value that stands for itself, or the path of a file. Contexts may also say where else to
// ask for a secret.
func plain(value string) (string, error) {
	value = strings.TrimPrefix(value, "file://")
	for _, scheme := range []string{"op://", "nsc://", "env://", "data:"} {
		if strings.HasPrefix(value, scheme) {
			return "", fmt.Errorf("busgen does not read secrets from %s…: name a file", scheme)
		}
	}
	if rest, isHome := strings.CutPrefix(value, "~/"); isHome {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	return value, nil
}
