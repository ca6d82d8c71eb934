/**
 * `PUT` (with `?bytes=`) and `DELETE /localVolumes/{name}`: the directory of a persistent volume on this node. Called
 * by the controller that creates volumes for claims, through the API server, with access to `nodes/proxy`.
 */
import type { FastifyReply } from 'fastify';
import { type LocalVolumeResponse, localVolumeBytes, localVolumesPath } from '#api/core/v1/volume/local-provisioner.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { plain } from '#daemon/serving/plain-http.js';
import type { ServedNode } from '#nodeagent/server/agent-server.js';
import { refuseOtherMethods } from '#nodeagent/server/plain-responses.js';
import { VolumeInUseError } from '#nodeagent/volumes/local-directories.js';

export function addLocalVolumeRoutes(app: DaemonApp, { localVolumes }: Pick<ServedNode, 'localVolumes'>): void {
  const url = `/${localVolumesPath}/:name`;
  // The parameters are in the URL: bodies are not read.
  const answerBody = async () => undefined;
  const handler = (work: (name: string, query: unknown) => Promise<object>) => ({
    onRequest: async ({ params, query }: { params: unknown; query: unknown }, reply: FastifyReply) => {
      try {
        return reply.send(await work((params as { readonly name: string }).name, query));
      } catch (error) {
        return plain(reply, statusOf(error), messageOf(error));
      }
    },
  });
  app.put(
    url,
    handler(
      async (name, query): Promise<LocalVolumeResponse> => ({ path: await localVolumes.make(name, bytesOf(query)) }),
    ),
    answerBody,
  );
  app.delete(
    url,
    handler(async (name) => {
      await localVolumes.remove(name);
      return {};
    }),
    answerBody,
  );
  refuseOtherMethods(app, url, ['PUT', 'DELETE']);
}

/** Older controllers do not send a size. Throws RangeError for an invalid number. */
function bytesOf(query: unknown): number | undefined {
  const { [localVolumeBytes]: bytes } = query as { readonly [localVolumeBytes]?: unknown };
  if (bytes === undefined) return undefined;
  const isNumber = typeof bytes === 'string' && /^\d{1,16}$/.test(bytes) && Number.isSafeInteger(Number(bytes));
  if (!isNumber) throw new RangeError(`${localVolumeBytes} must be a number of bytes`);
  return Number(bytes);
}

function statusOf(error: unknown): number {
  if (error instanceof RangeError) return 400;
  return error instanceof VolumeInUseError ? 409 : 500;
}
