/** What is told to people about a claim or a volume. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export const normal = (reason: string, message: string): Notice => ({ type: 'Normal', reason, message });
export const warning = (reason: string, message: string): Notice => ({ type: 'Warning', reason, message });
