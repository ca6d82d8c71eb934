/** From options to the API server's client of node agents. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { NodeAgents, type NodeAgentsOptions } from '#apiserver/streaming/node-agents.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { FileTls } from '#http/client/credentials.js';

/** Few requests go to agents, and none of them is tried again when an agent has a new certificate already. */
const nodeTlsFreshMs = 1_000;

/** Throws OptionsError where a file that an option names is not there. */
export async function buildNodeAgents(
  { values, clock }: { readonly values: ApiServerValues; readonly clock: Clock },
  { metrics, ...network }: Pick<NodeAgentsOptions, 'reader' | 'resolve' | 'isOwn'> & { readonly metrics: Registry },
): Promise<NodeAgents> {
  const fileOf = async (
    option: 'nodeagent-client-certificate' | 'nodeagent-client-key' | 'nodeagent-certificate-authority',
  ) => {
    const file = values[option] ?? '';
    if (file === '') return undefined;
    // Now, and not at the first request, is the time to say that it is not there.
    await textOf(option, file);
    return file;
  };
  const files = {
    cert: await fileOf('nodeagent-client-certificate'),
    key: await fileOf('nodeagent-client-key'),
    ca: await fileOf('nodeagent-certificate-authority'),
  };
  const tls = new FileTls({ files, clock, freshMs: nodeTlsFreshMs });
  holdCertificate(metrics, 'node-client', async () => (await tls.current()).cert);
  return new NodeAgents({
    tls,
    addressTypes: values['nodeagent-preferred-address-types'],
    defaultPort: values['nodeagent-port'],
    ...network,
  });
}
