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

table('a pod and one that is there', one, [
  ['neither has ports', '', '', 'ok'],
  ['it has none', '', '80', 'ok'],
  ['the other has none', '80', '', 'ok'],
  ['ports of the container only', '-', '-', 'ok'],
  ['a port of the container only, a port of the host there', '-', '80', 'ok'],
  ['port 0 is none', '0', '0', 'ok'],
  ['the same', '80', '80', no],
  ['another', '80', '81', 'ok'],
  ['the same, TCP by default', '80', '80/TCP', no],
  ['the same, TCP by default there', '80/TCP', '80', no],
  ['another protocol', '80/UDP', '80/TCP', 'ok'],
  ['another protocol than the default', '80', '80/UDP', 'ok'],
  ['SCTP and TCP', '80/SCTP', '80', 'ok'],
  ['SCTP and UDP', '80/SCTP', '80/UDP', 'ok'],
  ['the same, SCTP', '80/SCTP', '80/SCTP', no],
  ['the same, UDP', '80/UDP', '80/UDP', no],
  ['other addresses', '10.0.0.1:80', '10.0.0.2:80', 'ok'],
  ['the same address', '10.0.0.1:80', '10.0.0.1:80', no],
  ['the same address, another port', '10.0.0.1:80', '10.0.0.1:81', 'ok'],
  ['the same address, another protocol', '10.0.0.1:80/UDP', '10.0.0.1:80', 'ok'],
  ['every address, one is taken', '80', '10.0.0.1:80', no],
  ['one address, all are taken', '10.0.0.1:80', '80', no],
  ['the wildcard, one is taken', '0.0.0.0:80', '10.0.0.1:80', no],
  ['one address, the wildcard is taken', '10.0.0.1:80', '0.0.0.0:80', no],
  ['the wildcard and none said', '0.0.0.0:80', '80', no],
  ['an empty address is the wildcard', ':80', '10.0.0.1:80', no],
  ['an empty address there is the wildcard', '10.0.0.1:80', ':80', no],
  ['two empty addresses', ':80', ':80', no],
  ['loopback and another', '127.0.0.1:80', '10.0.0.1:80', 'ok'],
  ['loopback and the wildcard', '127.0.0.1:80', '0.0.0.0:80', no],
  ['the wildcard, another protocol', '0.0.0.0:80', '10.0.0.1:80/UDP', 'ok'],
  ['the second of two is taken', '80 81', '81', no],
  ['neither of two is taken', '80 81', '82 83', 'ok'],
  ['of another container', '-|80', '80', no],
  ['of the other pod’s second container', '80', '-|80', no],
  ['of second containers', '1|80', '2|80', no],
  ['several with one in common', '80 81/UDP 82', '90 81/UDP', no],
  ['several, the same numbers of other protocols', '80 81', '80/UDP 81/UDP', 'ok'],
  ['the highest', '65535', '65535', no],
]);

table('a pod and two that are there', ask, [
  ['both others', '80', '81', '82', 'ok'],
  ['the second has it', '80', '81', '80', no],
  ['two addresses, both others', '10.0.0.3:80', '10.0.0.1:80', '10.0.0.2:80', 'ok'],
  ['two addresses, the wildcard', '80', '10.0.0.1:80', '10.0.0.2:80', no],
  ['two protocols, the third is free', '80/SCTP', '80', '80/UDP', 'ok'],
  ['two protocols, one is taken', '80/UDP', '80', '80/UDP', no],
]);

const first = (initContainers: string, there: string) =>
  answer(
    nodePorts,
    { spec: { containers: [], initContainers: containers(initContainers) } },
    { pods: [{ spec: { containers: containers(there) } }] },
  );
table('init containers', first, [['their ports are not looked at', '80', '80', 'ok']]);
