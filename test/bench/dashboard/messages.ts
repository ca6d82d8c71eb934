/** Messages between a benchmark and the process of its API server. */
export type ToServer =
  | { readonly type: 'churn'; readonly perSecond: number }
  /** Gives the pod that reason, which its table shows as its status. */
  | { readonly type: 'pod'; readonly n: number; readonly reason: string };

export type FromServer =
  | { readonly type: 'ready'; readonly port: number; readonly kubeconfig: string; readonly firstPod: string }
  /** `atMs`: since 1970, directly after the write. */
  | { readonly type: 'written'; readonly reason: string; readonly atMs: number };
