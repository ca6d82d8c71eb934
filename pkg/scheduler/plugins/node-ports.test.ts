import type { ContainerPort } from '#api/core/v1/types.gen.js';
import { nodePorts } from '#scheduler/plugins/node-ports.js';
import { answer, table } from '#scheduler/testing/plugin-table.js';

const no = "node(s) didn't have free ports for the requested pod ports";

/** `8080`, `127.0.0.1:53/UDP`; `:8080`: an empty IP; `-`: a port of the container only. */
function port(text: string): ContainerPort {
  const [, ip, number, protocol] = /^(?:([^:]*):)?([-\d]+)(?:\/(.+))?$/.exec(text) ?? [];
  return {
    containerPort: 80,
    ...(ip === undefined ? {} : { hostIP: ip }),
    ...(number === '-' ? {} : { hostPort: Number(number) }),
    ...(protocol === undefined ? {} : { protocol }),
  };
}

/** Containers are separated by `|`, ports by blanks. */
const containers = (text: string) =>
  text.split('|').map((ports, i) => ({ name: `c${i}`, ports: ports.trim().split(/ +/).filter(Boolean).map(port) }));
const ask = (ports: string, ...there: string[]) =>
  answer(
    nodePorts,
    { spec: { containers: containers(ports) } },
    { pods: there.map((text) => ({ spec: { containers: containers(text) } })) },
  );
const one = (ports: string, there: string) => ask(ports, there);

table('a pod on a node with one pod', one, [
  ['neither pod has ports', '', '', 'ok'],
  ['the new pod has no ports', '', '80', 'ok'],
  ['the placed pod has no ports', '80', '', 'ok'],
  ['container ports only', '-', '-', 'ok'],
  ['a container port and a host port', '-', '80', 'ok'],
  ['port 0 means no host port', '0', '0', 'ok'],
  ['the same port', '80', '80', no],
  ['another port', '80', '81', 'ok'],
  ['the same port, TCP by default', '80', '80/TCP', no],
  ['the same port, TCP by default in the placed pod', '80/TCP', '80', no],
  ['the same port of another protocol', '80/UDP', '80/TCP', 'ok'],
  ['the same port, UDP and the default', '80', '80/UDP', 'ok'],
  ['the same port, SCTP and TCP', '80/SCTP', '80', 'ok'],
  ['the same port, SCTP and UDP', '80/SCTP', '80/UDP', 'ok'],
  ['the same SCTP port', '80/SCTP', '80/SCTP', no],
  ['the same UDP port', '80/UDP', '80/UDP', no],
  ['the same port of other addresses', '10.0.0.1:80', '10.0.0.2:80', 'ok'],
  ['the same port of the same address', '10.0.0.1:80', '10.0.0.1:80', no],
  ['another port of the same address', '10.0.0.1:80', '10.0.0.1:81', 'ok'],
  ['the same port and address, another protocol', '10.0.0.1:80/UDP', '10.0.0.1:80', 'ok'],
  ['a port of all addresses, used on one address', '80', '10.0.0.1:80', no],
  ['a port of one address, used on all addresses', '10.0.0.1:80', '80', no],
  ['a port of the wildcard address, used on one address', '0.0.0.0:80', '10.0.0.1:80', no],
  ['a port of one address, used on the wildcard address', '10.0.0.1:80', '0.0.0.0:80', no],
  ['the wildcard address and no address', '0.0.0.0:80', '80', no],
  ['an empty address means the wildcard address', ':80', '10.0.0.1:80', no],
  ['an empty address of the placed pod means the wildcard address', '10.0.0.1:80', ':80', no],
  ['two empty addresses', ':80', ':80', no],
  ['the loopback address and another address', '127.0.0.1:80', '10.0.0.1:80', 'ok'],
  ['the loopback address and the wildcard address', '127.0.0.1:80', '0.0.0.0:80', no],
  ['the wildcard address, another protocol', '0.0.0.0:80', '10.0.0.1:80/UDP', 'ok'],
  ['the second of two ports is used', '80 81', '81', no],
  ['none of two ports is used', '80 81', '82 83', 'ok'],
  ['a port of the second container', '-|80', '80', no],
  ['a port of the second container of the placed pod', '80', '-|80', no],
  ['ports of the second containers', '1|80', '2|80', no],
  ['one port of several is used', '80 81/UDP 82', '90 81/UDP', no],
  ['the same numbers of other protocols', '80 81', '80/UDP 81/UDP', 'ok'],
  ['the highest port', '65535', '65535', no],
]);

table('a pod on a node with two pods', ask, [
  ['three different ports', '80', '81', '82', 'ok'],
  ['the second pod uses the port', '80', '81', '80', no],
  ['three different addresses', '10.0.0.3:80', '10.0.0.1:80', '10.0.0.2:80', 'ok'],
  ['all addresses, with a port used on two addresses', '80', '10.0.0.1:80', '10.0.0.2:80', no],
  ['the third protocol', '80/SCTP', '80', '80/UDP', 'ok'],
  ['one of two used protocols', '80/UDP', '80', '80/UDP', no],
]);

const first = (initContainers: string, there: string) =>
  answer(
    nodePorts,
    { spec: { containers: [], initContainers: containers(initContainers) } },
    { pods: [{ spec: { containers: containers(there) } }] },
  );
table('init containers', first, [['their ports are not looked at', '80', '80', 'ok']]);
