/** `POST /run/{namespace}/{pod}[/{uid}]/{container}?cmd=…`: runs a command in a container and returns its output. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { messageOf } from '#apimachinery/errors/message.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { plain } from '#daemon/serving/plain-http.js';
import { queryOf } from '#daemon/serving/request-target.js';
import { isRunning, newestContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { AgentServerInput } from '#nodeagent/server/agent-server.js';
import { refuseOtherMethods } from '#nodeagent/server/plain-responses.js';

interface RunParams {
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
  readonly container: string;
}

export function addRunRoutes(app: DaemonApp, input: AgentServerInput): void {
  for (const url of ['/run/:namespace/:pod/:container', '/run/:namespace/:pod/:uid/:container']) {
    // The body is not used, so it is not read.
    app.post(url, { onRequest: (request, reply) => run(request, reply, input) }, async () => undefined);
    refuseOtherMethods(app, url, ['POST']);
  }
}

/** As in 1.24, the command is split at spaces, and a failed command gets status 500. */
async function run(request: FastifyRequest, reply: FastifyReply, { node, pods }: AgentServerInput) {
  const { namespace, pod: name, uid, container } = request.params as RunParams;
  const pod = pods.find(namespace, name, uid);
  if (pod === undefined) return plain(reply, 404, 'pod does not exist');
  const runtime = node.observer.get(pod.metadata.uid ?? '');
  const status = runtime === undefined ? undefined : newestContainer(runtime, container);
  if (status === undefined || !isRunning(status))
    return plain(reply, 500, `container ${JSON.stringify(container)} not found`);
  const cmd = (queryOf(request).get('cmd') ?? '').split(' ');
  try {
    const { stdout, stderr, exitCode } = await node.cri.execSync({ containerId: status.id, cmd, timeoutSeconds: 0 });
    const output = Buffer.concat([stdout, stderr]);
    if (exitCode !== 0)
      return plain(reply, 500, `command '${cmd.join(' ')}' exited with ${exitCode}: ${output.toString()}`);
    return reply.code(200).type('application/json').send(output);
  } catch (error) {
    return plain(reply, 500, messageOf(error));
  }
}
