//go:build unix

package servertest

import (
	"fmt"
	"strings"
	"testing"
)

// Network is what lies between the servers of a cluster, and between each of them and its clients. A server can be
// taken out of it: see [Proxy] for what happens to connections then.
type Network struct {
	clients []*Proxy          // of each server
	between map[[2]int]*Proxy // of two servers, the lower number first: the first one dials its first address, the second one the other
}

// startNetwork starts a network for servers with ports for clients, and for each other.
func startNetwork(t testing.TB, ports, routes []int) *Network {
	n := &Network{between: map[[2]int]*Proxy{}}
	for i := range ports {
		n.clients = append(n.clients, StartProxy(t, local(ports[i])))
		for j := range i {
			n.between[[2]int{j, i}] = StartProxy(t, local(routes[i])+","+local(routes[j]))
		}
	}
	return n
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Hosts returns the addresses of all servers for clients, with commas between them.
func (n *Network) Hosts() string {
	var hosts []string
	for _, p := range n.clients {
		hosts = append(hosts, p.Hosts())
	}
	return strings.Join(hosts, ",")
}

// routes returns the addresses at which a server reaches the others.
func (n *Network) routes(i int) (all []string) {
	for pair, p := range n.between {
		for at, end := range pair {
			if end == i {
				all = append(all, p.hosts[at])
			}
		}
	}
	return all
}

// Servers returns what is between a server and the others.
func (n *Network) Servers(i int) (all []*Proxy) {
	for pair, p := range n.between {
		if pair[0] == i || pair[1] == i {
			all = append(all, p)
		}
	}
	return all
}

// Clients returns what is between a server and its clients.
func (n *Network) Clients(i int) []*Proxy { return []*Proxy{n.clients[i]} }
