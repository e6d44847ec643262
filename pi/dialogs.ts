/**
 * Questions to the person of one session, one after another: of two dialogs at once 0.73.1 never settles the first,
 * and whoever asked it would wait for ever. Everything of ours that opens a dialog opens it here.
 */
export class Dialogs {
  #last: Promise<unknown> = Promise.resolve()

  /** Opens a dialog once those before it are answered. */
  show<T>(open: () => Promise<T>): Promise<T> {
    const answer = this.#last.then(open)
    this.#last = answer.catch(() => {})
    return answer
  }
}
