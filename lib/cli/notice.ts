// What the start and the extensions have to say to the person, apart from the conversation.

export interface Notice {
  readonly level: 'info' | 'warning' | 'error';
  /** One line. */
  readonly message: string;
  readonly traceback?: string;
}
export type Notify = (notice: Notice) => void;
