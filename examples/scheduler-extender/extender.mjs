/**
 * A scheduler extender: pods with an annotation `example.com/rack` go to nodes of that rack only, and of these rather to
 * those with fewer letters in their names. Start it with `node extender.mjs`, beside the scheduler of config.yaml.
 */
import { createServer } from 'node:http';

const rackOf = ({ metadata }) => metadata.labels?.['example.com/rack'];

/** The verbs of config.yaml: each gets what the scheduler asks, and returns what it is to be told. */
const verbs = {
  filter({ Pod, Nodes }) {
    const wanted = Pod.metadata.annotations?.['example.com/rack'];
    if (wanted === undefined) return { Nodes };
    const fits = (node) => rackOf(node) === wanted;
    // Evicting pods brings no node to another rack: so these are not looked at for preemption.
    const others = Nodes.items.filter((node) => !fits(node));
    const FailedAndUnresolvableNodes = Object.fromEntries(
      others.map(({ metadata }) => [metadata.name, `node(s) are not in rack ${wanted}`]),
    );
    return { Nodes: { items: Nodes.items.filter(fits) }, FailedAndUnresolvableNodes };
  },
  prioritize({ Nodes }) {
    return Nodes.items.map(({ metadata: { name } }) => ({ Host: name, Score: Math.max(0, 10 - name.length) }));
  },
};

export const extender = createServer(async (request, response) => {
  const verb = verbs[request.url?.split('/').at(-1) ?? ''];
  if (request.method !== 'POST' || verb === undefined) {
    response.writeHead(404).end();
    return;
  }
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = verb(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  } catch (error) {
    response.writeHead(400).end(String(error));
  }
});

if (import.meta.filename === process.argv[1]) extender.listen(8888, '127.0.0.1');
