/** Serves `/metrics/resources`. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { expositionText, expositionType } from '#daemon/metrics/exposition.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { podResourceFamilies } from '#scheduler/metrics/pod-resources.js';

export interface PodResourcesOptions {
  /** All pods; undefined while this scheduler does not lead: the response is then empty, as in 1.24. */
  readonly pods: () => readonly Pod[] | undefined;
  readonly dialect: Dialect;
}

export function addPodResources(app: DaemonApp, { pods, dialect }: PodResourcesOptions): void {
  app.get('/metrics/resources', async (_request, reply) =>
    reply.header('content-type', expositionType).send(expositionText(podResourceFamilies(pods() ?? [], dialect))),
  );
}
