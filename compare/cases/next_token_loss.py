"""The loss of causal language modelling, against that of `transformers`."""



from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from compare.peers.float64_throughout import throughout
from refimpl.blocks.next_token_loss import next_token_loss


def inputs(generator, *, n_batch, n_seq, vocab_size, ignored=0.0):
    targets = generator.integers(0, vocab_size, (n_batch, n_seq))
    targets[generator.random(targets.shape) < ignored] = -100
    return Inputs((normal(generator, n_batch, n_seq, vocab_size, scale=2.0), targets))


def transformers_loss(logits, targets):
    from transformers.loss.loss_utils import ForCausalLMLoss  # takes seconds to import

    with throughout(logits.dtype):
        return ForCausalLMLoss(logits, targets, logits.shape[-1])


CASES = [
    Case(
        name="next_token_loss",
        section="blocks",
        title="Loss of the next token",
        reference=next_token_loss,
        inputs=inputs,
        configs=(
            Config("whole", {"n_batch": 3, "n_seq": 5, "vocab_size": 7}),
            Config("ignored", {"n_batch": 2, "n_seq": 6, "vocab_size": 4, "ignored": 0.4}),
            Config("two", {"n_batch": 4, "n_seq": 2, "vocab_size": 3}, profile="full"),
        ),
        peers={"transformers": transformers_loss},
        dtypes=("float64", "float32"),
        bugs={
            "not shifted": rewritten(next_token_loss, "logits[:, :-1],", "logits[:, 1:],"),
            "shifted the wrong way": rewritten(
                next_token_loss, "logits[:, :-1], targets[:, 1:]", "logits[:, 1:], targets[:, :-1]"
            ),
            "ignored targets count": rewritten(next_token_loss, "targets[:, 1:], ignore", "0 * targets[:, 1:], ignore"),
            "gradient not shifted": rewritten(next_token_loss, "(0, n_untold)", "(n_untold, 0)"),
        },
    )
]
