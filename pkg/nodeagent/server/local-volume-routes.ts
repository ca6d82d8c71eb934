/**
 * `PUT` and `DELETE /localVolumes/{name}`: the directory that a persistent volume on this node is. The controller that makes
 * volumes for claims asks for it, through the API server, with the right to `nodes/proxy`.
 */
import type { FastifyReply } from 'fastify';
import { type LocalVolumeMade, localVolumesPath } from '#api/core/v1/volume/local-directory.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import type { ServedNode } from '#nodeagent/server/agent-server.js';
import { plain, refuseOtherMethods } from '#nodeagent/server/plain-answers.js';
import { VolumeInUseError } from '#nodeagent/volumes/local-directories.js';

export function addLocalVolumeRoutes(app: DaemonApp, { localVolumes }: Pick<ServedNode, 'localVolumes'>): void {
  const url = `/${localVolumesPath}/:name`;
  // What is asked for is in the path: bodies are not read.
  const answerBody = async () => undefined;
  const answer = (work: (name: string) => Promise<object>) => ({
    onRequest: async ({ params }: { params: unknown }, reply: FastifyReply) => {
      try {
        return reply.send(await work((params as { readonly name: string }).name));
      } catch (error) {
        return plain(reply, statusOf(error), messageOf(error));
      }
    },
  });
  app.put(
    url,
    answer(async (name): Promise<LocalVolumeMade> => ({ path: await localVolumes.make(name) })),
    answerBody,
  );
  app.delete(
    url,
    answer(async (name) => {
      await localVolumes.remove(name);
      return {};
    }),
    answerBody,
  );
  refuseOtherMethods(app, url, ['PUT', 'DELETE']);
}

function statusOf(error: unknown): number {
  if (error instanceof RangeError) return 400;
  return error instanceof VolumeInUseError ? 409 : 500;
}
